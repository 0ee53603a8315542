export { GoalReader } from './goal-reader.js';
export { fenced, goalWords, unmetWords } from './goal-words.js';
