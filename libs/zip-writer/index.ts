export { type LeftOut, type TreeEntry, type TreeFile, type ZippedTree, zipTree } from './zip-tree.js';
export { type ZipEntry, ZipWriter } from './zip-writer.js';
