"""The rule sets of CL-Summ besides the corrected one; what each means stands where it is applied."""

OFFICIAL_2014 = "official-2014"
OFFICIAL_2016 = "official-2016"
OFFICIAL_2017 = "official-2017"
OFFICIAL_2018 = "official-2018"
