import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { settings } from '../../src/platform/config/index.js';

const compose = parse(readFileSync('docker/compose.yaml', 'utf8'), { merge: true });

describe('docker/compose.yaml', () => {
  it.each(['api', 'worker', 'gateway'])('passes every setting of docker/.env on to %s', service => {
    expect(compose.services[service].env_file).toBe('.env');
  });

  it.each(['api', 'worker', 'gateway'])(
    'fixes what %s has inside of its container, and names settings that exist',
    service => {
      const { environment } = compose.services[service];
      const names = new Set<string>(Object.values(settings).map(({ name }) => name));
      expect(environment).toMatchObject({ HOST: '0.0.0.0', PORT: 3000, DATA_DIR: '/data', ROLE: service });
      for (const name of Object.keys(environment)) expect(names).toContain(name);
    },
  );
});
