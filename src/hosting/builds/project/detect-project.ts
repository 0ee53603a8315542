import { normalizePath, WorkspaceFsError } from '#libs/workspace-fs/index.js';
import { BuildFailure } from './build-failure.js';
import { ManifestReader, readStrings } from './manifest-reader.js';
import { detectManager, installCommand, needsInstall } from './package-manager.js';
import { listDependencies, nodeOutputs, type Preset, type Project, presets } from './presets.js';
import type { DetectedProject, ProjectFinding, ProjectSettings } from './project.js';

const MANIFEST = 'package.json';
/** Presets that are not frameworks. */
const PLAIN = ['static', 'node'];

/** A folder published as it is, recognized without reading it; undefined if its manifest decides. Throws BuildFailure. */
export function plainFolder(settings: ProjectSettings, hasManifest: boolean): DetectedProject | undefined {
  requirePreset(settings.preset);
  const isPlain = settings.preset === 'static' || !(hasManifest || wantsBuild(settings));
  return isPlain ? staticFolder(readOutput(settings), []) : undefined;
}

/** Detects the kind of project from a few files, and runs nothing. Throws BuildFailure. */
export async function detectProject(folder: string, settings: ProjectSettings): Promise<DetectedProject> {
  const reader = new ManifestReader(folder);
  const manifest = await reader.manifest(MANIFEST);
  const plain = plainFolder(settings, manifest !== undefined);
  if (plain) return plain;
  const output = readOutput(settings);
  const findings: ProjectFinding[] = [];
  const scripts = readStrings(manifest?.scripts);
  const command = nonBlank(settings.build_command);
  if (!(wantsBuild(settings) || scripts.has('build'))) return staticFolder(output, unbuilt(scripts));
  if (!manifest) return fromCommand(command, settings, output);
  const dependencies = listDependencies(manifest);
  const preset = chosen(settings.preset, dependencies);
  const project: Project = { reader, manifest, scripts, dependencies, isOutputSet: output !== undefined };
  if (command === undefined) await preset?.check?.(project);
  const manager = await detectManager(reader, manifest, findings);
  const install = nonBlank(settings.install_command);
  const outputs = output === undefined ? (preset?.outputs ?? nodeOutputs) : [output];
  return {
    preset: preset?.name ?? 'node',
    needsBuild: true,
    manager,
    install: install ?? (needsInstall(manifest, manager) ? installCommand(manager) : undefined),
    build: command ?? buildCommand(scripts, preset),
    output: outputs[0] ?? '',
    outputs,
    spa: preset?.spa,
    findings,
  };
}

function wantsBuild({ build_command, preset }: ProjectSettings): boolean {
  return nonBlank(build_command) !== undefined || (preset ?? 'static') !== 'static';
}

function requirePreset(name: string | null | undefined): void {
  const names = [...PLAIN, ...presets.map(preset => preset.name)];
  if (name && !names.includes(name))
    throw new BuildFailure(`There is no preset ${JSON.stringify(name)}: take one of ${names.join(', ')}.`);
}

function chosen(name: string | null | undefined, dependencies: ReadonlySet<string>): Preset | undefined {
  if (name) return presets.find(preset => preset.name === name);
  return presets.find(({ dependency }) => dependencies.has(dependency));
}

function buildCommand(scripts: ReadonlyMap<string, string>, preset: Preset | undefined): string {
  const script = [preset?.script, 'build'].find(name => name !== undefined && scripts.has(name));
  if (script !== undefined) return `npm run ${script}`;
  if (preset) return preset.build;
  throw new BuildFailure(
    `${MANIFEST} has no script "build": add one, or say what builds the site (build_command).`,
  );
}

function staticFolder(output: string | undefined, findings: ProjectFinding[]): DetectedProject {
  const path = output ?? '';
  return { preset: 'static', needsBuild: false, output: path, outputs: [path], findings };
}

function unbuilt(scripts: ReadonlyMap<string, string>): ProjectFinding[] {
  if (scripts.size === 0) return [];
  const message = `${MANIFEST} has no script "build", so the folder is published as it is.`;
  return [{ level: 'warning', file: MANIFEST, message }];
}

/** A folder without a manifest, built by a command such as `make`. */
function fromCommand(
  command: string | undefined,
  { preset }: ProjectSettings,
  output: string | undefined,
): DetectedProject {
  if (command === undefined)
    throw new BuildFailure(`There is no ${MANIFEST} in the folder, which the preset ${preset} needs.`);
  const outputs = output === undefined ? nodeOutputs : [output];
  const [first = ''] = outputs;
  return { preset: 'node', needsBuild: true, build: command, output: first, outputs, findings: [] };
}

function readOutput({ output_dir }: ProjectSettings): string | undefined {
  const path = nonBlank(output_dir);
  if (path === undefined) return undefined;
  try {
    return normalizePath(path);
  } catch (error) {
    if (!(error instanceof WorkspaceFsError)) throw error;
    throw new BuildFailure(`output_dir must be a folder of the project: ${error.message}.`, { cause: error });
  }
}

function nonBlank(value: string | null | undefined): string | undefined {
  return value?.trim() || undefined;
}
