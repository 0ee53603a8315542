export {
  daysAfter,
  instantOf,
  isTimeZone,
  localTimeOf,
  weekdayOf,
  zoneOfAbbreviation,
} from './zoned-time.js';
