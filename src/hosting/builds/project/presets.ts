import { BuildFailure } from './build-failure.js';
import type { JsonObject, ManifestReader } from './manifest-reader.js';
import { readStrings } from './manifest-reader.js';

export interface Project {
  readonly reader: ManifestReader;
  readonly manifest: JsonObject;
  readonly scripts: ReadonlyMap<string, string>;
  readonly dependencies: ReadonlySet<string>;
  /** Whether a person set the output folder. */
  readonly isOutputSet: boolean;
}

export interface Preset {
  readonly name: string;
  /** Package by which the framework is recognized. */
  readonly dependency: string;
  readonly outputs: readonly string[];
  readonly build: string;
  readonly spa?: boolean;
  /** Script that is preferred to `build`, if the project has it. */
  readonly script?: string;
  /** Throws BuildFailure if the project would not produce static files. */
  readonly check?: (project: Project) => Promise<void> | void;
}

/** In order of detection: several frameworks use Vite. */
export const presets: readonly Preset[] = [
  { name: 'astro', dependency: 'astro', outputs: ['dist'], build: 'astro build' },
  { name: 'next', dependency: 'next', outputs: ['out'], build: 'next build', check: requireExport },
  {
    name: 'nuxt',
    dependency: 'nuxt',
    outputs: ['.output/public', 'dist'],
    build: 'nuxt generate',
    script: 'generate',
    check: requireGenerate,
  },
  {
    name: 'sveltekit',
    dependency: '@sveltejs/kit',
    outputs: ['build'],
    build: 'vite build',
    check: requireStaticAdapter,
  },
  { name: 'gatsby', dependency: 'gatsby', outputs: ['public'], build: 'gatsby build' },
  { name: 'docusaurus', dependency: '@docusaurus/core', outputs: ['build'], build: 'docusaurus build' },
  { name: 'eleventy', dependency: '@11ty/eleventy', outputs: ['_site'], build: 'eleventy' },
  { name: 'vite', dependency: 'vite', outputs: ['dist'], build: 'vite build', spa: true },
];

/** Output folders of projects without a known framework. */
export const nodeOutputs = ['dist', 'build', 'out', 'public'];

const NEXT_CONFIGS = [
  'next.config.js',
  'next.config.mjs',
  'next.config.ts',
  'next.config.cjs',
  'next.config.mts',
];
const EXPORTS = /\boutput["'`]?\s*[:=]\s*["'`]export["'`]/;

async function requireExport({ reader, isOutputSet }: Project): Promise<void> {
  if (isOutputSet) return;
  for (const file of NEXT_CONFIGS) {
    const text = await reader.settings(file);
    if (text !== undefined && EXPORTS.test(withoutComments(text))) return;
  }
  throw new BuildFailure(
    "This Next.js project makes a server, and a site is a folder of files: set output: 'export' in next.config.js, or publish it as a server. (If another file sets it, say where the result will be with output_dir.)",
  );
}

function requireGenerate({ scripts, isOutputSet }: Project): void {
  if (isOutputSet || scripts.has('generate')) return;
  const build = scripts.get('build');
  if (build !== undefined && !/\bgenerate\b|--prerender\b/.test(build))
    throw new BuildFailure(
      `The script "build" of this Nuxt project makes a server (${build.slice(0, 80)}), and a site is a folder of files: add the script "generate": "nuxt generate", or publish it as a server.`,
    );
}

function requireStaticAdapter({ dependencies, isOutputSet }: Project): void {
  if (isOutputSet || dependencies.has('@sveltejs/adapter-static')) return;
  throw new BuildFailure(
    'This SvelteKit project makes a server, and a site is a folder of files: install @sveltejs/adapter-static and make it the adapter, or publish it as a server.',
  );
}

/** Rough: tells settings from commented ones. */
function withoutComments(text: string): string {
  let kept = '';
  let at = 0;
  for (;;) {
    const from = text.indexOf('/*', at);
    const to = from < 0 ? -1 : text.indexOf('*/', from + 2);
    if (to < 0) return (kept + text.slice(at)).replace(/(^|[^:"'`\\])\/\/.*/gm, '$1');
    kept += text.slice(at, from);
    at = to + 2;
  }
}

export function listDependencies(manifest: JsonObject): Set<string> {
  const lists = [manifest.dependencies, manifest.devDependencies];
  return new Set(lists.flatMap(list => [...readStrings(list).keys()]));
}
