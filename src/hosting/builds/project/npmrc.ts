/** Settings that say how dependencies are laid out. What names files, programs, proxies or tokens is not among them. */
const TAKEN = new Set([
  ...['auto-install-peers', 'dedupe-peer-dependents', 'engine-strict', 'hoist', 'hoist-pattern', 'include'],
  ...['install-strategy', 'legacy-peer-deps', 'link-workspace-packages', 'node-linker', 'omit', 'only'],
  ...[
    'prefer-workspace-packages',
    'production',
    'public-hoist-pattern',
    'resolution-mode',
    'shamefully-hoist',
  ],
  ...['strict-peer-dependencies', 'strict-peer-deps'],
]);
const REGISTRY = /^(?:@[\w.~-]+:)?registry$/;
const PLAIN_VALUE = /^[\w@*.:/!~+-]+$/;

export interface FilteredNpmrc {
  /** What an installation may go by. */
  readonly text: string;
  /** Registries that it names. */
  readonly registries: string[];
  /** Where packages come from for which it names no other. */
  readonly registry: string | undefined;
  /** Names of settings that were left out. */
  readonly leftOut: string[];
}

/** Takes what is harmless of an `.npmrc`. */
export function filterNpmrc(text: string): FilteredNpmrc {
  const lines: string[] = [];
  const registries: string[] = [];
  const leftOut = new Set<string>();
  let registry: string | undefined;
  for (const line of text.split(/\r?\n/)) {
    const [, key, raw] = /^\s*([^;#[\s=][^\s=]*)\s*=\s*(.*?)\s*$/.exec(line) ?? [];
    if (key === undefined || raw === undefined) continue;
    const value = raw.replace(/^(["'])(.*)\1$/, '$2');
    const isRegistry = REGISTRY.test(key);
    if (!PLAIN_VALUE.test(value) || !(isRegistry || TAKEN.has(key.replace(/\[\]$/, '')))) {
      leftOut.add(key);
      continue;
    }
    if (isRegistry) registries.push(value);
    if (key === 'registry') registry = value;
    lines.push(`${key}=${value}\n`);
  }
  return { text: lines.join(''), registries, registry, leftOut: [...leftOut] };
}
