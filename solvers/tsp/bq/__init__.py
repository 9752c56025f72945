"""BQ-NCO for TSP and ATSP (Drakulic, Michel, Mai, Sors and Andreoli, NeurIPS 2023): recipes, their lessons and their teacher."""
