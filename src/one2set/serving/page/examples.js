// Texts to try, written for this page.

export const examples = [
  {
    name: "Traffic",
    text: `Forecasting city traffic with graph neural networks
Drivers, bus companies and emergency services all want to know how long a trip will take before it begins. We forecast traffic speed on urban road networks up to one hour ahead. Road sensors become the nodes of a graph; its edges are learned by an attention mechanism instead of being copied from the map, so that the graph neural network can link roads that are far apart but jam together. A recurrent decoder then writes the speeds of all sensors step by step. On two years of loop detector data from a medium-sized city, the mean absolute error of the forecasts falls by eleven percent against a strong recurrent baseline, and most of the gain comes in rush hours and on the days of football matches. The learned graph is sparse enough to be read: it shows the detours that drivers really take. Training takes an afternoon on one graphics card, and a forecast for the whole city takes less than a second.`,
  },
  {
    name: "Flaky tests",
    text: `Which tests are flaky? Evidence from ten million builds
A flaky test passes and fails on the same version of a program. Developers lose time on failures that mean nothing, and learn to ignore those that mean something. We study ten million builds of four hundred open source projects on a continuous integration service. Most flaky tests wait for something: a thread, a network connection, a clock. From the history of test results and the source code of the tests we train a classifier that predicts flakiness before the first failure. With random forests on forty features it finds three quarters of the flaky tests at a precision of 0.8. Running suspicious tests again, in random order and under load, finds most of the rest. Regression testing that leaves out predicted flaky tests saves a fifth of the computing time and, in our sample, missed no bug.`,
  },
  {
    name: "Sensor networks",
    text: `Sleeping in turns: energy-efficient clustering for wireless sensor networks
Sensors in a forest or on a glacier run on batteries that nobody will change. Hierarchical routing protocols save energy by electing cluster heads that collect and forward the data of their neighbours, but the heads themselves are the first to die. We propose a distributed clustering algorithm in which nodes take turns by their residual energy and by how much their data differs from that of their neighbours. Nodes that would only repeat what others say go to sleep. Simulations with up to one thousand nodes show that network lifetime grows by 40% against the usual randomised election, with the same coverage, and a deployment of sixty nodes in an alpine valley ran through two winters. The algorithm needs no global clock and no knowledge of positions.`,
  },
  {
    name: "Old letters",
    text: `Searching a century of handwritten letters
Archives hold millions of handwritten letters that no search engine can read. Handwriting recognition makes so many mistakes on old scripts that keyword search over its best guess misses most of what is there. We index the lattice of all guesses with their probabilities instead, and expand queries by spelling variants that were learned from dated dictionaries. In a collection of 90,000 letters of the nineteenth century, recall of named entities rises from 41 to 78 percent while precision stays above 70. Historians who used the system for three months asked longer questions than they did before, and judged relevance by the image of the page, not by its transcription. We release the software, the queries and the relevance judgments.`,
  },
];
