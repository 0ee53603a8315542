export { cutText, firstLines, fitted, lengthOf } from './bounded-json.js';
