import { describe, expect, it } from '@jest/globals';
import {
  Config,
  envExampleText,
  mistypedSettings,
  settings,
  settingsDocumentText,
  unknownSettings,
} from './config.js';

describe('Config', () => {
  it('has a default for everything', () => {
    const config = Config.from({});
    expect(config).toMatchObject({ port: 3000, role: 'all', dataDir: '.atelier', databaseUrl: undefined });
    expect(config.baseUrl).toBe('http://localhost:3000');
    expect([config.servesHttp, config.runsJobs]).toEqual([true, true]);
  });

  it('takes an empty variable as unset', () => {
    expect(Config.from({ PORT: '', DATABASE_URL: '' })).toMatchObject({ port: 3000, databaseUrl: undefined });
  });

  it('knows what a role serves', () => {
    expect(Config.from({ ROLE: 'api' })).toMatchObject({ servesHttp: true, runsJobs: false });
    expect(Config.from({ ROLE: 'worker' })).toMatchObject({ servesHttp: false, runsJobs: true });
  });

  it.each([
    [{ PORT: '70000' }, 'PORT must be a whole number from 0 to 65535'],
    [{ PORT: '80.5' }, 'PORT must be a whole number'],
    [{ JWT_SECRET: 'short' }, 'JWT_SECRET must have at least 32 characters'],
    [{ VAULT_KEYS: 'a:short' }, 'VAULT_KEYS must list keys as id:base64'],
    [{ OUTGOING_PRIVATE_HOSTS: 'chat.corp' }, 'OUTGOING_PRIVATE_HOSTS: "chat.corp" is no host with a port'],
    [{ OUTGOING_PRIVATE_HOSTS: '10.0.0.0/64' }, '"10.0.0.0/64" is no network'],
    [{ SERVER_LIMITS: 'memory=16MiB' }, 'memory in SERVER_LIMITS must be a whole number from 33554432 to'],
    [{ SANDBOX_DRIVER: 'none' }, 'SANDBOX_DRIVER must be one of bubblewrap, docker, unsafe-local'],
  ])('refuses %j in a sentence', (environment, sentence) => {
    expect(() => Config.from(environment)).toThrow(sentence);
  });
});

describe('settings', () => {
  it('are few enough to be read', () => expect(Object.keys(settings).length).toBeLessThanOrEqual(70));
});

describe('mistypedSettings', () => {
  it.each([
    ['REGISTATION', 'REGISTRATION'],
    ['DATABASE_ULR', 'DATABASE_URL'],
    ['PROT', 'PORT'],
    ['port', 'PORT'],
    ['OPEN_API_KEY', 'OPENAI_API_KEY'],
  ])('finds what %s was meant to be', (name, meant) => {
    expect(mistypedSettings({ [name]: 'x' })).toEqual(new Map([[name, meant]]));
  });

  it('leaves alone what belongs to other programs', () => {
    const others = {
      HOME: '/',
      PATH: '/bin',
      HOSTNAME: 'box',
      USER: 'ada',
      TERM: 'xterm',
      LOGNAME: 'ada',
      SHELL: 'sh',
    };
    expect(mistypedSettings({ ...others, PORT: '1', PORTS: '2' }).size).toBe(0);
  });
});

describe('unknownSettings', () => {
  it('finds lines of a file that set nothing here', () => {
    expect(unknownSettings('# PORT=1\nPORT=3000\nSITE_MAX_BYTES=1\n')).toEqual(['SITE_MAX_BYTES']);
  });
});

describe('settingsDocumentText', () => {
  it('has every setting once', () => {
    const names = [...settingsDocumentText().matchAll(/^### `(\w+)`$/gm)].map(([, name]) => name);
    expect(names).toEqual(Object.values(settings).map(({ name }) => name));
  });
});

describe('envExampleText', () => {
  it('lists every setting, commented out, without a secret', () => {
    const text = envExampleText();
    for (const { name } of Object.values(settings)) expect(text).toMatch(new RegExp(`^# ${name}=`, 'm'));
    expect(text.split('\n').filter(line => line !== '' && !line.startsWith('#'))).toEqual([]);
  });
});
