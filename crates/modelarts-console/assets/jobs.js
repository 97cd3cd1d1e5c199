// List of jobs.
import "./page.js";
