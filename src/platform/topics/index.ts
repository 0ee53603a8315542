export { defineTopic, notifyTopic, Subscription, type Topic } from './topic.js';
export { Topics } from './topics.js';
