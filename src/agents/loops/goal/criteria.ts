import type { Criterion } from '../records/index.js';

/** Most criteria of a rubric. */
export const MAX_CRITERIA = 50;

/** A point of a list at its outermost level. */
const POINT = /^ ?(?:[-*+]|\d{1,3}[.)])\s+(?:\[[ xX]\]\s+)?(.*)$/;

/**
 * What a rubric asks for, one by one: the points of its lists, each with what is written below it; without a list, all of it. The
 * ids stay the same from iteration to iteration, so that what is unmet again can be told from what is new.
 */
export function criteriaOf(rubric: string): Criterion[] {
  const points: string[][] = [];
  for (const line of rubric.split(/\r?\n/)) {
    const [, text] = POINT.exec(line) ?? [];
    if (text !== undefined) points.push([text]);
    else if (/^\s+\S/.test(line)) points.at(-1)?.push(line.trim());
  }
  const texts = points.map(lines => lines.join('\n').trim()).filter(text => text !== '');
  return (texts.length > 0 ? texts : [rubric.trim()]).map((text, index) => ({ id: `c${index + 1}`, text }));
}
