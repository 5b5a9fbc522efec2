"""Human evaluation: select and blind texts of systems, store people's ratings, and
publish the results.
"""
