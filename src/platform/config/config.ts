import { hostname, tmpdir } from 'node:os';
import path from 'node:path';
import { Setting } from './settings/setting.js';
import { settings } from './settings.js';

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
    return this.role !== 'worker';
  }

  get runsJobs(): boolean {
    return this.role !== 'api';
  }
}
