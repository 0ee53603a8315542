import type { YamlMapping } from '../../../workspaces/yaml-files/index.js';

const UNITS: Record<string, number> = { s: 1, m: 60, h: 3600, d: 86_400 };
const DURATION = /^(\d{1,7})(s|m|h|d)$/;

/** A duration such as 30s, 5m, 24h or 7d, in seconds; undefined where the key is absent, or with a finding. */
export function secondsOf(
  mapping: YamlMapping,
  key: string,
  { least, most }: { least: number; most: number },
): number | undefined {
  const text = mapping.text(key, 20);
  if (text === undefined) return undefined;
  const [, count = '', unit = ''] = DURATION.exec(text) ?? [];
  const seconds = Number(count) * (UNITS[unit] ?? Number.NaN);
  if (seconds >= least && seconds <= most) return seconds;
  return mapping.error(
    key,
    `must be a time from ${durationOf(least)} to ${durationOf(most)}, such as 30s, 5m, 24h or 7d`,
  );
}

function durationOf(seconds: number): string {
  const unit = ['d', 'h', 'm'].find(name => seconds > 0 && seconds % (UNITS[name] as number) === 0) ?? 's';
  return `${seconds / (UNITS[unit] as number)}${unit}`;
}
