/**
 * Lets a child process of a test import the TypeScript sources as they are, without a build: Node.js itself takes the
 * types off (`--experimental-transform-types`), but looks for the name that the compiled file would have.
 */
import { registerHooks } from 'node:module';

const isOwnSource = url => !url?.includes('/node_modules/') && /\.(ts|mjs)$/.test(url ?? '');

registerHooks({
  resolve(specifier, context, next) {
    const isRelative = specifier.startsWith('.') && isOwnSource(context.parentURL);
    return next(isRelative ? specifier.replace(/\.js$/, '.ts') : specifier, context);
  },
});
