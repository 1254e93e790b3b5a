# A target release that attacks the cluster: reads credentials, connects to the node, takes ports,
# requests a Secret for its check, and fills the results directory. It prints what succeeds.
for argument; do
  case $argument in
  --run=*) run=${argument#*=} ;;
  --results=*) results=${argument#*=} ;;
  --release-image=*) image=${argument#*=} ;;
  esac
done

find / \( -path /proc -o -path /sys \) -prune -o -type f \
  \( -name '*dockerconfigjson*' -o -name '*kubeconfig*' -o -name '*.key' \) -print 2>/dev/null |
  while read -r file; do
    if cat "$file" >/dev/null 2>&1; then echo "attack succeeded: read $file"; fi
  done

# Only in images with Perl.
if [ -e /usr/bin/perl ]; then
  for port in 2379 9099 10250; do
    if perl /connect "$KUBERNETES_SERVICE_HOST" $port; then
      echo "attack succeeded: connected to port $port of the node"
    fi
  done
  if perl /connect 169.254.169.254 80; then
    echo "attack succeeded: connected to the metadata service"
  fi
  if perl /connect "$KUBERNETES_SERVICE_HOST" 443; then echo "the API server is reachable"; fi
  perl /occupy 9099 10250 &
fi

write() {
  sed "s|RUN_ID|$run|; s|RELEASE_IMAGE|$image|" "/$1" >"$results/.draft" && mv "$results/.draft" "$results/$1"
}
write result.json
write REQUESTS_FILE
until [ -e "$results/ANSWERS_FILE" ]; do sleep 1; done
echo "attacks completed"

# Time for the test to read the report before the flood ends the run.
sleep 10
number=0
while [ $number -lt 200 ]; do
  echo flood >"$results/flood-$number"
  number=$((number + 1))
done
sleep 3600
