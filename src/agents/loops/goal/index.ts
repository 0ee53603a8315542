export { GoalReader, type PinnedGoal } from './goal-reader.js';
export { fenced, goalWords, unmetWords } from './goal-words.js';
export { CheckInput, UntilInput } from './until.dto.js';
