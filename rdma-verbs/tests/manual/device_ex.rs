//! Extended attributes of a device.

use crate::common::*;
use crate::objects::open;

#[test]
fn the_extended_attributes_include_the_plain_ones() {
    with_device(|address| {
        let (context, port, _) = open(address);
        let attributes = context.query_extended().expect("its attributes");
        assert_eq!(Ok(&attributes.device), context.query().as_ref());
        assert!(u32::from(port) <= attributes.port_count);
        assert_eq!(Ok(attributes.on_demand_paging), context.on_demand_paging());
        let has_clock = attributes.clock_frequency != 0 && attributes.timestamp_mask != 0;
        assert_eq!(attributes.time_between(0, 1).is_some(), has_clock);
    });
}
