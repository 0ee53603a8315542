export { type Filter, type FilterRule, matchesFilter, mismatchIn, valueAt } from './value-filter.js';
