export {
  type ExactNumber,
  exactNumber,
  isExactNumber,
  isSameScalar,
  marked,
  parseJson,
  textOf,
  toDouble,
  unmarked,
  withDoubles,
} from './exact-json.js';
