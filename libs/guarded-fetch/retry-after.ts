/** All three forms of a date in HTTP begin with a day of the week. */
const DATE = /^(Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? /;

/**
 * How long the server asks to wait: `Retry-After`, in seconds or as a date (RFC 9110, 5.6.7 and 10.2.3). undefined where
 * the answer does not say so, or says what cannot be read. It has no upper bound: that is the caller's.
 */
export function retryAfterMs(headers: Headers, now = Date.now()): number | undefined {
  const value = headers.get('retry-after')?.trim() ?? '';
  if (/^\d+$/.test(value)) return Number(value) * 1000;
  if (!DATE.test(value)) return undefined;
  // The form of C's asctime names no zone, and means UTC.
  const date = Date.parse(value.endsWith(' GMT') ? value : `${value} GMT`);
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}
