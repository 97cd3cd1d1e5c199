package javax.annotation;

/** Stands in for the annotation of that name, which the JDK no longer has. */
public @interface Generated {
    String[] value();
    String comments() default "";
}
