import { hostname, tmpdir } from 'node:os';
import path from 'node:path';
import { parseEnv } from 'node:util';
import { didYouMean } from '#libs/did-you-mean/index.js';
import { envExample, type Setting, settingsDocument } from '#libs/env-settings/index.js';
import { accountsSettings } from './settings/accounts.js';
import { modelsSettings, runsSettings } from './settings/agents.js';
import { connectionsSettings } from './settings/connections.js';
import { hostingSettings } from './settings/hosting.js';
import { serviceSettings, trafficSettings } from './settings/service.js';
import { filesSettings, sandboxesSettings } from './settings/workspaces.js';

/** Version of the service and of its interface. */
export const VERSION = '0.1.0';

/** Every environment variable the service reads. */
export const settings = {
  ...serviceSettings,
  ...accountsSettings,
  ...filesSettings,
  ...sandboxesSettings,
  ...connectionsSettings,
  ...runsSettings,
  ...modelsSettings,
  ...hostingSettings,
  ...trafficSettings,
} as const;

/** The settings by subject, in the order that `.env.example` and `docs/settings.md` list them. */
const SUBJECTS: Readonly<Record<string, Readonly<Record<string, Setting<unknown>>>>> = {
  'Processes and data': serviceSettings,
  'Accounts and organizations': accountsSettings,
  Workspaces: filesSettings,
  Sandboxes: sandboxesSettings,
  'Services of others': connectionsSettings,
  Runs: runsSettings,
  Models: modelsSettings,
  'Sites and servers': hostingSettings,
  'Limits, metrics and logs': trafficSettings,
};

type Values = { [K in keyof typeof settings]: (typeof settings)[K] extends Setting<infer T> ? T : never };

/** One property for each setting. */
const SettingValues = class {} as new () => Readonly<Values>;

/** What the operator set, validated; the only reader of environment variables. */
export class Config extends SettingValues {
  /** Reads `environment`; throws InvalidSetting for the first value that is wrong. */
  static from(environment: NodeJS.ProcessEnv): Config {
    const config = new Config();
    for (const [key, setting] of Object.entries(settings))
      Object.defineProperty(config, key, {
        value: setting.read(environment[setting.name]),
        enumerable: true,
      });
    return config;
  }

  /** Where people reach the service; falls back to the port on this machine. */
  get baseUrl(): string {
    return (this.publicUrl ?? `http://localhost:${this.port}`).replace(/\/+$/, '');
  }

  /** For files that live as long as a command: below DATA_DIR where a Docker engine must see them, else the system's. */
  get scratchDir(): string {
    return this.sandboxDriver === 'docker' ? path.resolve(this.dataDir, 'run', hostname()) : tmpdir();
  }

  get servesHttp(): boolean {
    return this.role === 'all' || this.role === 'api';
  }

  get runsJobs(): boolean {
    return this.role === 'all' || this.role === 'worker';
  }
}

const LIMITS_HINT =
  'Limits are listed as name=number, separated by commas. Those not listed keep their defaults. Bytes may be written as 512MiB or 2GiB.';

/** The text of `.env.example`. */
export const envExampleText = (): string =>
  envExample(
    `# Settings of Atelier. Every one is optional; copy to .env and uncomment what you change.\n# ${LIMITS_HINT}\n`,
    Object.values(settings),
  );

/** The text of `docs/settings.md`. */
export const settingsDocumentText = (): string =>
  settingsDocument(
    `# Settings\n\nEnvironment variables, or lines of a file \`.env\`. Every one is optional. ${LIMITS_HINT}\n`,
    new Map(Object.entries(SUBJECTS).map(([subject, all]) => [subject, Object.values(all)])),
  );

/** Shorter names are too close to common variables that mean something else: HOME and HOST, PATH and PORT. */
const SHORT_NAME = 7;

/** The variables of `environment` that look like a mistyped setting: name → the setting that was probably meant. */
export function mistypedSettings(environment: NodeJS.ProcessEnv): Map<string, string> {
  const names = Object.values(settings).map(({ name }) => name);
  const known = new Set<string>(names);
  const mistyped = new Map<string, string>();
  for (const [name, value] of Object.entries(environment)) {
    if (known.has(name) || value === undefined || name.length < 4) continue;
    const meant = didYouMean(name, names, name.length > SHORT_NAME ? 2 : 1);
    // A setting that is given too was spelt right: the other variable is for another program.
    if (meant && environment[meant] === undefined) mistyped.set(name, meant);
  }
  return mistyped;
}

/** The names in the text of a `.env` file that are no settings. */
export function unknownSettings(text: string): string[] {
  const known = new Set<string>(Object.values(settings).map(({ name }) => name));
  return Object.keys(parseEnv(text)).filter(name => !known.has(name));
}
