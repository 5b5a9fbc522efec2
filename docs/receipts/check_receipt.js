#!/usr/bin/env node
/*
 * Check the receipts of a Citeboard site without any code of Citeboard. Needs Node 16 or newer and no package.
 *
 *     node check_receipt.js FILE KEYS
 *
 * FILE is one of:
 *   - a receipt, or a list of receipts, from the page of a run or /api/v1/submissions/RUN/receipts/
 *   - the head of the log and the keys, from /api/v1/log/
 *   - an entry of the log, or a page of entries, from /api/v1/log/entries/
 * KEYS is a file with the public keys that you trust: 64 hexadecimal digits on a line.
 *
 * The exit code is 0 if all signatures and hashes are right, 1 if one is wrong, and 2 if a file cannot be read.
 * The guide docs/receipts.md describes each step.
 */
"use strict";

const crypto = require("node:crypto");
const fs = require("node:fs");

const FIELDS = ["task", "run", "gold", "scorer", "scores", "time"];
// A signature covers one of these prefixes and the message, so that it is valid for one purpose only.
const ENTRY = "citeboard receipt 1\n";
const HEAD = "citeboard log head 1\n";
const KEY = "citeboard key 1\n";

// ---- Bytes ----

/** Return the bytes of lower-case hexadecimal digits; throw if the text has another length or other digits. */
function fromHex(text, bytes, name) {
  if (typeof text !== "string" || text.length !== 2 * bytes || !/^[0-9a-f]*$/.test(text)) {
    throw new Error(`${name}: expected ${2 * bytes} hexadecimal digits, found ${JSON.stringify(text)}`);
  }
  return Buffer.from(text, "hex");
}

function sha256(...parts) {
  return crypto.createHash("sha256").update(Buffer.concat(parts)).digest();
}

/** Write an object of ASCII texts and whole numbers as canonical JSON: sorted names, no spaces. */
function canonical(object) {
  const names = Object.keys(object).sort();
  return `{${names.map((name) => `${JSON.stringify(name)}:${JSON.stringify(object[name])}`).join(",")}}`;
}

// ---- Signatures (Ed25519, RFC 8032) ----

function isSigned(publicHex, message, signatureHex) {
  const x = fromHex(publicHex, 32, "public key").toString("base64url");
  const key = crypto.createPublicKey({ key: { kty: "OKP", crv: "Ed25519", x }, format: "jwk" });
  return crypto.verify(null, message, key, fromHex(signatureHex, 64, "signature"));
}

/** Return the faults of a signature by a key that must be one of the trusted keys. */
function signatureFaults(name, signed, prefix, content, trusted) {
  const faults = [];
  if (!trusted.has(signed.key)) {
    faults.push(`${name}: its key ${signed.key} is not one of the keys that you trust`);
  }
  const message = Buffer.concat([Buffer.from(prefix, "ascii"), content]);
  if (!isSigned(signed.key, message, signed.signature)) {
    faults.push(`${name}: the signature is wrong`);
  }
  return faults;
}

function headFaults(head, trusted) {
  const content = canonical({ at: head.at, root: head.root, size: head.size });
  return signatureFaults("head of the log", head, HEAD, Buffer.from(content, "ascii"), trusted);
}

// ---- The Merkle tree (RFC 9162, section 2.1) ----

function leafHash(entry) {
  return sha256(Buffer.from([0]), entry);
}

function nodeHash(left, right) {
  return sha256(Buffer.from([1]), left, right);
}

/** Return true if the path leads from the leaf at `index` to the root of a tree of `size` leaves (2.1.3.2). */
function isIncluded(leaf, index, size, path, root) {
  if (!Number.isSafeInteger(index) || !Number.isSafeInteger(size) || index < 0 || index >= size) {
    return false;
  }
  let [place, last, hash] = [index, size - 1, leaf];
  const halve = () => {
    [place, last] = [Math.floor(place / 2), Math.floor(last / 2)];
  };
  for (const beside of path) {
    if (last === 0) {
      return false;
    }
    if (place % 2 === 1 || place === last) {
      hash = nodeHash(beside, hash);
      while (place % 2 === 0 && place !== 0) {
        halve();
      }
    } else {
      hash = nodeHash(hash, beside);
    }
    halve();
  }
  return last === 0 && hash.equals(root);
}

// ---- What a file can contain ----

/** Check signature, openings, place in the log and head of a receipt; return what to print, and the faults. */
function checkReceipt(receipt, trusted) {
  if (receipt.format !== "citeboard-receipt" || receipt.version !== 1) {
    return { faults: ["it is no citeboard-receipt of version 1"], lines: [] };
  }
  if (receipt.log === null) {
    return { faults: ["it is not in the log yet: ask the site again in a minute"], lines: [] };
  }
  const entry = Buffer.from(receipt.entry, "utf8");
  const faults = signatureFaults("entry", receipt, ENTRY, entry, trusted);
  const commitments = JSON.parse(receipt.entry);
  const expected = { receipt: 1 };
  for (const name of FIELDS) {
    fromHex(commitments[name], 32, `commitment of ${name}`);
    expected[name] = commitments[name];
  }
  if (receipt.entry !== canonical(expected)) {
    faults.push("the entry is not canonical JSON of the six commitments");
  }
  const lines = [];
  for (const name of FIELDS) {
    const opening = receipt.openings[name];
    if (opening === undefined) {
      lines.push(`${name}: sealed`);
      continue;
    }
    const nonce = fromHex(opening.nonce, 32, `nonce of ${name}`);
    if (sha256(nonce, Buffer.from(opening.text, "utf8")).toString("hex") === commitments[name]) {
      lines.push(`${name}: ${opening.text}`);
    } else {
      faults.push(`${name}: the text is not the one of the commitment`);
    }
  }
  const { head, index } = receipt.log;
  faults.push(...headFaults(head, trusted));
  const path = receipt.log.path.map((hash) => fromHex(hash, 32, "path"));
  if (!isIncluded(leafHash(entry), index, head.size, path, fromHex(head.root, 32, "root"))) {
    faults.push(`the entry is not at place ${index} of the log with that root`);
  }
  lines.push(`entry ${index} of a log with ${head.size}, signed at ${head.at}`);
  return { faults, lines };
}

/** Check the signature of the head, and which listed keys are signed by a key that you trust. */
function checkLog(log, trusted) {
  if (log.head === null) {
    return { faults: ["the log has no signed head yet"], lines: [] };
  }
  const accepted = new Set(trusted);
  const faults = [];
  for (const key of log.keys) {
    if (accepted.has(key.signed_by) && !accepted.has(key.public)) {
      const message = Buffer.concat([Buffer.from(KEY, "ascii"), fromHex(key.public, 32, "public key")]);
      if (isSigned(key.signed_by, message, key.endorsement)) {
        accepted.add(key.public);
      } else {
        faults.push(`key ${key.public}: the signature of the key before it is wrong`);
      }
    }
  }
  faults.push(...headFaults(log.head, accepted));
  const keys = [...accepted].map((key) => `key that you can trust: ${key}`);
  return { faults, lines: [`log with ${log.head.size} entries, signed at ${log.head.at}`, ...keys] };
}

function checkEntry(entry, trusted) {
  const content = Buffer.from(entry.content, "utf8");
  const hash = leafHash(content).toString("hex");
  return { faults: signatureFaults("entry", entry, ENTRY, content, trusted), lines: [`leaf hash ${hash}`] };
}

// ---- The command ----

class Unreadable extends Error {}

function readJson(path) {
  try {
    return JSON.parse(fs.readFileSync(path, "utf8"));
  } catch (error) {
    throw new Unreadable(`${path} cannot be read as JSON: ${error.message}`);
  }
}

function readKeys(path) {
  let text;
  try {
    text = fs.readFileSync(path, "utf8");
  } catch (error) {
    throw new Unreadable(`${path} cannot be read: ${error.message}`);
  }
  const keys = text.split(/\s+/).filter(Boolean).map((key) => key.toLowerCase());
  if (keys.length === 0 || !keys.every((key) => /^[0-9a-f]{64}$/.test(key))) {
    throw new Unreadable(`${path}: expected public keys, 64 hexadecimal digits on a line`);
  }
  return new Set(keys);
}

/** Return the items of a file with the name and the check of their kind. */
function itemsOf(content, path) {
  const isObject = (value) => value !== null && typeof value === "object" && !Array.isArray(value);
  if (isObject(content) && "head" in content && "keys" in content) {
    return [{ name: "log", item: content, check: checkLog }];
  }
  const list = isObject(content) && Array.isArray(content.results) ? content.results : [content].flat();
  if (list.length === 0 || !list.every(isObject)) {
    throw new Unreadable(`${path}: expected receipts, the head of a log, or entries of a log`);
  }
  return list.map((item, number) => {
    const isEntry = "content" in item && !("format" in item);
    return isEntry
      ? { name: `entry ${item.index}`, item, check: checkEntry }
      : { name: `receipt ${number + 1}`, item, check: checkReceipt };
  });
}

function checked({ item, check }, trusted) {
  try {
    return check(item, trusted);
  } catch (error) {
    return { faults: [`it is not written as the site writes it: ${error.message}`], lines: [] };
  }
}

function main(paths) {
  if (paths.length !== 2) {
    throw new Unreadable("usage: node check_receipt.js FILE KEYS");
  }
  const trusted = readKeys(paths[1]);
  let wrong = 0;
  for (const item of itemsOf(readJson(paths[0]), paths[0])) {
    const { faults, lines } = checked(item, trusted);
    console.log(`${item.name}: ${faults.length ? "WRONG" : "right"}`);
    // A file may contain control characters, which must not reach the terminal.
    for (const line of faults.length ? faults : lines) {
      console.log(`  ${line.replace(/[\p{Cc}\p{Cf}]/gu, "?")}`);
    }
    wrong += faults.length ? 1 : 0;
  }
  return wrong ? 1 : 0;
}

try {
  process.exitCode = main(process.argv.slice(2));
} catch (error) {
  if (!(error instanceof Unreadable)) {
    throw error;
  }
  console.error(error.message);
  process.exitCode = 2;
}
