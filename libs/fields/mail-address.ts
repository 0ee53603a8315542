import { isEmail } from 'class-validator';

/** What a quoted part of an address may hold by the letter of the standard: line breaks, blanks, signs that are not seen. */
const UNREADABLE = /[\p{C}\p{Z}]/u;

/** Whether it is an e-mail address, and one that reads as it stands. */
export const isMailAddress = (value: unknown): boolean => isEmail(value) && !UNREADABLE.test(String(value));
