export { SearchModule } from './search.module.js';
export { TreeScan } from './tree-scan.js';
