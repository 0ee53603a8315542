/** Settings about the layout of dependencies. None that name files, programs, proxies or tokens. */
const TAKEN = new Set([
  'auto-install-peers',
  'dedupe-peer-dependents',
  'engine-strict',
  'hoist',
  'hoist-pattern',
  'include',
  'install-strategy',
  'legacy-peer-deps',
  'link-workspace-packages',
  'node-linker',
  'omit',
  'only',
  'prefer-workspace-packages',
  'production',
  'public-hoist-pattern',
  'resolution-mode',
  'shamefully-hoist',
  'strict-peer-dependencies',
  'strict-peer-deps',
]);
const REGISTRY = /^(?:@[\w.~-]+:)?registry$/;
const PLAIN_VALUE = /^[\w@*.:/!~+-]+$/;

export interface FilteredNpmrc {
  readonly text: string;
  /** npm registries listed in the `.npmrc`, verbatim. */
  readonly registries: string[];
  /** Default registry. */
  readonly registry: string | undefined;
  /** Names of ignored settings. */
  readonly leftOut: string[];
}

/** Keeps the harmless settings of an `.npmrc`. */
export function filterNpmrc(text: string): FilteredNpmrc {
  const lines: string[] = [];
  const registries: string[] = [];
  const leftOut = new Set<string>();
  let registry: string | undefined;
  for (const line of text.split(/\r?\n/)) {
    const [, key, raw] = /^\s*([^;#[\s=][^\s=]*)\s*=\s*(.*?)\s*$/.exec(line) ?? [];
    if (key === undefined || raw === undefined) continue;
    const value = raw.replace(/^(["'])(.*)\1$/, '$2');
    // Never left out: packages would come from elsewhere.
    const isRegistry = REGISTRY.test(key);
    if (isRegistry) registries.push(value);
    if (key === 'registry') registry = value;
    const isTaken = isRegistry || TAKEN.has(key.replace(/\[\]$/, ''));
    if (isTaken && PLAIN_VALUE.test(value)) lines.push(`${key}=${value}\n`);
    else leftOut.add(key);
  }
  return { text: lines.join(''), registries, registry, leftOut: [...leftOut] };
}
