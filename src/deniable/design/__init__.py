"""Makes a study on a local page: what every question will tell, what a report gives away, and the survey."""
