export { type Finding, Findings, FrontMatter, type SplitFile, splitFrontMatter } from './front-matter.js';
