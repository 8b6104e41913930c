"""The depth lab as one page: sliders, a chart, words, computed in the page itself."""
