NAME knapsack
OBJSENSE
 MAX
ROWS
 N cost
 L room
COLUMNS
 MARKER MARKER INTORG
 a cost 5 room 4
 b cost 4 room 3
 c cost 3 room 2.5
 MARKER MARKER INTEND
RHS
 RHS room 6
BOUNDS
 UP BND a 1
 UP BND b 2
 UP BND c 3
ENDATA
