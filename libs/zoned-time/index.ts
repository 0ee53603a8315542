export { daysAfter, instantOf, isTimeZone, localTimeOf, weekdayOf } from './zoned-time.js';
