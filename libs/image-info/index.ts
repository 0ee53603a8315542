export { type ImageInfo, imageInfo } from './image-info.js';
