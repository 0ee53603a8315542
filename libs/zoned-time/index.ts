export { daysAfter, instantOf, isTimeZone, localTimeOf, suggestedZone, weekdayOf } from './zoned-time.js';
