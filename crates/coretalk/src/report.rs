//! What a person reads: screens, heat map, words. Computes no statistic.
