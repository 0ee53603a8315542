export { type Finding, Findings, FrontMatter } from './front-matter.js';
