import { expect, it } from '@jest/globals';
import { filterNpmrc } from './npmrc.js';

const VARIABLE = '$' + '{TOKEN}';

it('what is harmless is taken of an .npmrc, and nothing else', () => {
  const text = [
    '; a comment',
    '# another = one',
    'legacy-peer-deps = true',
    'registry="https://npm.corp.example/"\r',
    '@corp:registry=https://npm.corp.example/corp/',
    'public-hoist-pattern[]=*eslint*',
    `//npm.corp.example/:_authToken=${VARIABLE}`,
    `omit=${VARIABLE}`,
    'git=/workspace/evil',
    'ignore-scripts=false',
    'userconfig=/etc/passwd',
    'node-options=--require ./evil.js',
    'cache=/tmp',
    '[section]',
    'email=ada@example.com',
  ].join('\n');
  expect(filterNpmrc(text)).toEqual({
    text: 'legacy-peer-deps=true\nregistry=https://npm.corp.example/\n@corp:registry=https://npm.corp.example/corp/\npublic-hoist-pattern[]=*eslint*\n',
    registries: ['https://npm.corp.example/', 'https://npm.corp.example/corp/'],
    registry: 'https://npm.corp.example/',
    leftOut: [
      '//npm.corp.example/:_authToken',
      'omit',
      'git',
      'ignore-scripts',
      'userconfig',
      'node-options',
      'cache',
      'email',
    ],
  });
});
