"""Plans a study: what is asked, how it is reported, what a report gives away, and what comes out."""
