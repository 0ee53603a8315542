export type { QuestionRow } from './question.js';
export { OpenQuestionView } from './questions.dto.js';
export {
  questionAsked,
  questionClosed,
  questionClosing,
  questionOpened,
  questionReminded,
} from './questions.events.js';
export { QuestionsModule } from './questions.module.js';
export { QuestionsService, QuestionViews } from './questions.service.js';
export { askQuestions, type NewQuestion, QuestionsStore } from './questions.store.js';
