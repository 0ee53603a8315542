/**
 * One way to write a task:
 *
 *   name     as it is called by `npm run bench -- craft NAME`
 *   ask      what the agent is told
 *   files    what is there in the beginning: path → content
 *   prepare  a script of bash that makes what is too large to be written down
 *   work     how a strong model goes about it: calls of `hands.mjs`, then what it says
 *   check    a script of bash that ends with 0 where the files are as they should be
 */
export const task = (name, parts) => ({ name, files: {}, prepare: '', ...parts });

/** A small project of Node.js with tests beside it; `more` adds to its files or replaces them. */
export const project = (more = {}) => ({
  'package.json': `${JSON.stringify({ name: 'shop', type: 'module', scripts: { test: 'node --test' } }, null, 2)}\n`,
  '.gitignore': 'node_modules/\ndist/\ncoverage/\n',
  'README.md': '# Shop\n\nPrices, carts and orders.\n',
  ...more,
});

/** Lines of text by number. */
export const lines = (count, line) => Array.from({ length: count }, (_, index) => line(index + 1)).join('\n');
