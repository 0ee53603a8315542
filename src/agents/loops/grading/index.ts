export { CheckScript } from './check-script.js';
export { Grader } from './grader.js';
export { Grading } from './grading.js';
export { GradingClaims } from './grading-claims.js';
