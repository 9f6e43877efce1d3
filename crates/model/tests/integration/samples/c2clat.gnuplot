set title "Inter-core one-way data latency between CPU cores"
set xlabel "CPU"
set ylabel "CPU"
set cblabel "Latency (ns)"
$data << EOD
 CPU    0    1    2
   0    0   92   16
   1   92    0   54
   2   16   54    0
EOD
plot '$data' matrix rowheaders columnheaders using 2:1:3 with image
