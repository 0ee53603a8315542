export type { PdfLimits, PdfText } from './pdf-text-task.js';
