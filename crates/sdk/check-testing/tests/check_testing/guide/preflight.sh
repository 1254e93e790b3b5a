#!/bin/sh
case "$PREFLIGHT_SOURCE_VERSION" in
  "")
    echo "The version of the cluster is unknown."
    exit 4
    ;;
  4.*)
    echo "Volumes of $PREFLIGHT_SOURCE_VERSION are migrated by 5.0 alone: update to 5.0 before."
    exit 1
    ;;
esac
