/** Lets a child process of a test import the TypeScript sources as they are, without a build. */
import { readFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { transformSync } from '@swc/core';

const isOwnSource = url => !url?.includes('/node_modules/') && /\.(ts|mjs)$/.test(url ?? '');

registerHooks({
  resolve(specifier, context, next) {
    const isRelative = specifier.startsWith('.') && isOwnSource(context.parentURL);
    return next(isRelative ? specifier.replace(/\.js$/, '.ts') : specifier, context);
  },
  load(url, context, next) {
    if (!url.startsWith('file:') || !url.endsWith('.ts')) return next(url, context);
    const options = { jsc: { target: 'es2023', parser: { syntax: 'typescript' } }, module: { type: 'es6' } };
    const { code } = transformSync(readFileSync(new URL(url), 'utf8'), options);
    return { format: 'module', source: code, shortCircuit: true };
  },
});
