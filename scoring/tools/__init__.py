"""Run baselines, build the gold of data sets, and train taggers. The modules of this
package do not import Django.
"""
