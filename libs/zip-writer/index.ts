export { type ZipEntry, ZipWriter } from './zip-writer.js';
