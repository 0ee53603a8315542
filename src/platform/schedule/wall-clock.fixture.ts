const DAY_MS = 86_400_000;
const QUARTER_MS = 15 * 60_000;

const formats = new Map<string, Intl.DateTimeFormat>();

function offsetOf(zone: string, at: number): string | undefined {
  const format =
    formats.get(zone) ?? new Intl.DateTimeFormat('en', { timeZone: zone, timeZoneName: 'longOffset' });
  formats.set(zone, format);
  return format.formatToParts(at).find(({ type }) => type === 'timeZoneName')?.value;
}

/** The starts of the days (of UTC) within which the clocks of a zone change. */
export function clockChanges(zone: string, from: number, to: number): number[] {
  const changes: number[] = [];
  for (let at = from; at < to; at += DAY_MS)
    if (offsetOf(zone, at) !== offsetOf(zone, at + DAY_MS)) changes.push(at);
  return changes;
}

/** Zones whose clocks change within a stretch, one for each set of rules. */
export function zonesThatChange(from: number, to: number): string[] {
  const zones = new Map(
    Intl.supportedValuesOf('timeZone')
      .map(zone => [JSON.stringify([offsetOf(zone, from), clockChanges(zone, from, to)]), zone] as const)
      .filter(([rules]) => !rules.endsWith('[]]')),
  );
  return [...zones.values()];
}

/**
 * The instants of a schedule at this minute of these hours (null: of each real hour), found by looking at each minute of a
 * stretch, by the calendar of Node.js, which schedules do not use.
 */
export function byTheMinute(
  minute: number,
  hours: number[] | null,
  zone: string,
  from: number,
  to: number,
): number[] {
  const format = new Intl.DateTimeFormat('en-GB', {
    timeZone: zone,
    hourCycle: 'h23',
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
  });
  const wallAt = (at: number) => {
    const { year, month, day, hour, minute } = Object.fromEntries(
      format.formatToParts(at).map(({ type, value }) => [type, Number(value)]),
    ) as Record<string, number>;
    return Date.UTC(year as number, (month as number) - 1, day, hour, minute);
  };
  // Clocks change at full quarters of an hour.
  let quarter = { from: Number.NaN, wall: 0 };
  const wallOf = (at: number) => {
    const from = at - (at % QUARTER_MS);
    if (from !== quarter.from) quarter = { from, wall: wallAt(from) };
    return quarter.wall + at - from;
  };
  const fires = (wall: number) =>
    new Date(wall).getUTCMinutes() === minute && (hours?.includes(new Date(wall).getUTCHours()) ?? true);
  const found = new Set<number>();
  const seen = new Set<number>();
  let before = wallOf(from - 60_000);
  for (let at = from; at < to; at += 60_000) {
    const wall = wallOf(at);
    if (hours === null) {
      if (fires(wall)) found.add(at);
    } else {
      if (fires(wall) && !seen.has(wall)) found.add(at);
      // What was left out comes as much later as the gap is long.
      const gap = wall - before - 60_000;
      for (let left = 0; left < gap; left += 60_000) if (fires(before + 60_000 + left)) found.add(at + left);
    }
    seen.add(wall);
    before = wall;
  }
  return [...found].sort((a, b) => a - b);
}
