export { type Filter, type FilterRule, matchesFilter, valueAt } from './value-filter.js';
