export { defineTopic, notifyTopic, Subscription, type Topic, Topics } from './topics.js';
