import { Invalid } from '../../platform/errors/index.js';

/** A stretch of time; its end is not part of it. */
export interface Period {
  readonly from: Date;
  readonly to: Date;
}

/** The calendar month (UTC) that `now` is in. */
export function monthOf(now: Date): Period {
  const month = (offset: number) => new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + offset));
  return { from: month(0), to: month(1) };
}

/** The period that a request names; what it leaves out is the beginning of this month, and now. */
export function periodOf({ from, to }: { from?: string; to?: string }, now: Date): Period {
  const period = {
    from: from === undefined ? monthOf(now).from : utc('from', from),
    to: to === undefined ? now : utc('to', to),
  };
  if (period.from > period.to) throw new Invalid('from must not be later than to');
  return period;
}

/** A time without a zone is UTC, also where the service runs in another. */
function utc(field: string, text: string): Date {
  const hasZone = /(Z|[+-]\d\d(:?\d\d)?)$/i.test(text) && text.includes('T');
  const time = new Date(hasZone || !text.includes('T') ? text : `${text}Z`);
  const year = time.getUTCFullYear();
  if (Number.isNaN(time.getTime()) || year < 1970 || year > 9999)
    throw new Invalid(`${field} must be an ISO 8601 time, e.g. 2026-11-01T00:00:00Z`);
  return time;
}
